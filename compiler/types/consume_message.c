// What is said about consumption.
#include "base/text.h"
#include "types/consume.h"

const char *consume_root_text(const Root *root) {
  return text_format(root->is_result ? "another result of `%s`" : "`%s`",
                     root->binding->name);
}

void consume_report_use(Consume *u, Root *root, Name used, Loc loc) {
  Compiler *c = u->k->c;
  Name name = root->binding->name, through = root->consumed->through;
  root->reported = true;
  if (used == through || (used == name && !root->is_result))
    error(c, loc, "`%s` is used after it was consumed", used);
  else
    error(c, loc, "`%s` may share memory with %s, which was consumed", used,
          consume_root_text(root));
  if (through && through != name)
    note(c, root->consumed->loc,
         "`%s`, which may share memory with %s, was consumed here", through,
         consume_root_text(root));
  else
    note(c, root->consumed->loc, "%s was consumed here", consume_root_text(root));
  hint(c, "`copy` gives an array with memory of its own");
}

// "`ys`, which may share memory with `xs`," or "`xs`"
static const char *consumed_subject(const Root *root, const Consumed *consumed) {
  Name name = root->binding->name;
  if (!consumed->through || consumed->through == name) return text_format("`%s`", name);
  return text_format("`%s`, which may share memory with `%s`,", consumed->through, name);
}

// What a function gives that does not say that it is new.
static void report_given(Compiler *c, const Root *root, const Consumed *consumed) {
  Name name = root->binding->name;
  if (root->kind == ROOT_TOP) {
    error(c, consumed->loc,
          "what is consumed here may share memory with a constant, which `%s` gives",
          name);
    hint(c, "consume a copy");
    return;
  }
  const char *what = consumed->through ? text_format("`%s`", consumed->through)
                                       : "what is consumed here";
  error(c, consumed->loc, "%s may be a result of the parameter `%s`, which may keep it",
        what, name);
  note(c, root->binding->loc, "the type of `%s` does not say that its results are new",
       name);
  hint(c, "consume a copy, or write `*` before the result in the type of `%s`", name);
}

void consume_report_fixed(Consume *u, Root *root, const Consumed *consumed) {
  Compiler *c = u->k->c;
  Name name = root->binding->name;
  root->reported = true;
  if (type_resolve(root->binding->type)->kind == TYPE_FUNCTION) {
    report_given(c, root, consumed);
    return;
  }
  if (root->kind == ROOT_TOP) {
    error(c, consumed->loc, "%s is consumed here, but `%s` is defined at top level",
          consumed_subject(root, consumed), name);
    hint(c, "consume a copy: `copy %s`", name);
    return;
  }
  error(c, consumed->loc, "%s is consumed here, but the parameter `%s` has no `*`",
        consumed_subject(root, consumed), name);
  note(c, root->binding->loc, "`%s` is a parameter of which callers keep the value",
       name);
  hint(c, "consume a copy, `copy %s`, or write `*` before the type of the parameter",
       name);
}

void consume_report_outside(Consume *u, Root *root, const Consumed *consumed) {
  Compiler *c = u->k->c;
  Name name = root->binding->name;
  root->reported = true;
  error(c, consumed->loc,
        "%s is consumed here, but it is bound outside of this %s, which may run again",
        consumed_subject(root, consumed), u->region->is_loop ? "loop" : "function");
  note(c, root->binding->loc, "`%s` is bound here", name);
  hint(c, u->region->is_loop ? "make it a parameter of the loop, or consume a copy"
                             : "make it a parameter `*`, or consume a copy");
}

void consume_report_result(Consume *u, Root *root, Name function, Loc loc) {
  Compiler *c = u->k->c;
  Name name = root->binding->name;
  root->reported = true;
  error(c, loc, "the result of %s%s%s is declared `*`, but may share memory with %s",
        function ? "`" : "", function ? function : "the function", function ? "`" : "",
        consume_root_text(root));
  if (root->binding->loc.file && !root->binding->loc.file->built_in)
    note(c, root->binding->loc, "`%s` is bound here", name);
  hint(c, "return a copy");
}

void consume_report_constant(Consume *u, Name function, const Root *root, Loc loc) {
  Compiler *c = u->k->c;
  Name name = root->binding->name;
  error(c, loc, "the result of `%s` may share memory with the constant `%s`", function,
        name);
  hint(c, "return a copy: `copy %s`", name);
}
