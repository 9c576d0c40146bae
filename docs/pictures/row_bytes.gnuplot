# gnuplot row_bytes.gnuplot: draws row_bytes.svg beside it. Numbers: docs/log/2026-11-small-rows.md, "To choose by".
set terminal svg size 900,340 font "sans-serif,12"
set output "row_bytes.svg"
set multiplot layout 1,2
set xlabel "kB of long-term memory a token of text"
set xrange [3:15]
set logscale x 2
set xtics (4, 6, 8, 10, 14)
set grid
set key bottom right
# all layers: bf16, int8, int4; then layers 14-29 in bf16: trained, as cut
$shown << END
13.6 .882 .457
7.0 .880 .452
4.1 .870 .444


7.2 .865 .415


7.2 .764 .369
END
do for [i = 0:1] {
  set title (i == 0 ? "made-up facts, 20,000 tokens later" : "SQuAD, 20,000 tokens later")
  set ylabel (i == 0 ? "exact answers" : "")
  set yrange [(i == 0 ? 0.7 : 0.3):(i == 0 ? 0.95 : 0.5)]
  plot $shown index 0 using 1:(column(2 + i)) with linespoints lc "#2166ac" pt 7 lw 1.5 title "all layers: int4, int8, bf16", \
    $shown index 1 using 1:(column(2 + i)) with points lc "#1b7837" pt 5 ps 1.2 title "layers 14 to 29, trained, bf16", \
    $shown index 2 using 1:(column(2 + i)) with points lc "#b2182b" pt 9 ps 1.2 title "layers 14 to 29, as cut, bf16"
}
