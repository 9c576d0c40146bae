# gnuplot row_bytes.gnuplot: draws row_bytes.svg beside it. Numbers: docs/log/2026-11-fewer-rows.md.
set terminal svg size 900,340 font "sans-serif,12"
set output "row_bytes.svg"
set multiplot layout 1,2
set xlabel "kB of long-term memory a token of text"
set xrange [1.8:16]
set logscale x 2
set xtics (2, 3, 4, 6, 8, 10, 14)
set grid
set key bottom right
# int4, int8 (all layers: bf16, too): all layers; layers 10-29; layers 14-29; 64 rows a write
$shown << END
4.2 .952 .508
7.1 .952 .508
13.7 .952 .492


2.8 .794 .397
4.8 .810 .413


2.3 .825 .365
3.8 .857 .381


2.1 .508 .254
3.6 .508 .254
END
do for [i = 0:1] {
  set title (i == 0 ? "made-up facts, 20,000 tokens later" : "SQuAD, 20,000 tokens later")
  set ylabel (i == 0 ? "exact answers, n = 63" : "")
  set yrange [0:(i == 0 ? 1 : 0.6)]
  plot $shown index 0 using 1:(column(2 + i)) with linespoints lc "#2166ac" pt 7 lw 1.5 title "all layers: int4, int8, bf16", \
    $shown index 1 using 1:(column(2 + i)) with linespoints lc "#1b7837" pt 5 lw 1.5 title "layers 10 to 29: int4, int8", \
    $shown index 2 using 1:(column(2 + i)) with linespoints lc "#b2182b" pt 9 lw 1.5 title "layers 14 to 29: int4, int8", \
    $shown index 3 using 1:(column(2 + i)) with linespoints lc "#762a83" pt 13 lw 1.5 title "64 rows a write: int4, int8"
}
