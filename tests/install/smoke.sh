#!/bin/sh
# What a new user would do with an installed flc; in a Debian folder, by debian.sh.
set -eu
cd /smoke
export HOME=/smoke
block() { awk -v kind="$1" '$0 == "```" kind { on = !seen++; next } /^```$/ { on = 0 } on' c-api.md; }

cat > rows.fl << 'END'
-- ==
-- input { [[1.0f32, 2.0f32], [3.0f32, 4.0f32]] } output { [5.0f32, 25.0f32] }
-- "wide" random input { [8][20000]f32 }
-- "high" random input { [20000][8]f32 }
entry main [n] [m] (xss: [n][m]f32) : [n]f32 = map (\xs -> f32.sum (map (\x -> x * x) xs)) xss
END
set -x
flc --version
flc check rows.fl
flc build rows.fl
[ "$(echo '[[1, 2], [3, 4]]' | ./rows)" = '[5.0f32, 25.0f32]' ]
[ "$(echo '[[1, 2], [3, 4]]' | flc run rows.fl)" = '[5.0f32, 25.0f32]' ]
./rows --list-devices
# Not on the device: LLVM 19 in PoCL 6.0 (Debian 13) ends in an error of its own on the code for GPUs.
flc test --no-device rows.fl
flc tune rows.fl --quiet --budget 30
grep '=' rows.fl.tuning
block 'fl sum.fl' > sum.fl
block c > example.c
flc lib sum.fl -o sum --prefix sum
cc example.c sum.c -lOpenCL -lm -o example
[ "$(./example)" = 12 ]
[ -f /usr/share/man/man1/flc-tune.1.gz ] || [ -f /etc/dpkg/dpkg.cfg.d/excludes ]
[ -f /usr/share/bash-completion/completions/flc.bash ]
