// Is the condition true in any lane?  (OpenCL's `any` is many instructions in PoCL 3.1, this two.)
// section any_f32
FN int any_f32(I c) { return ANY; }
// section any_f64
FN int any_f64(I c) { return ANY; }
