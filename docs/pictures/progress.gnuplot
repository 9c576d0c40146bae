# gnuplot progress.gnuplot: draws progress.svg beside it. Numbers: "By training time" in docs/results.md.
set terminal svg size 760,340 font "sans-serif,12"
set output "progress.svg"
set yrange [0:1]
set xrange [15:130]
set xlabel "minutes of training on one H200"
set ylabel "share of questions"
set grid ytics
set key outside right
# minutes, facts hybrid, facts reread, SQuAD hybrid, SQuAD reread, told twice, never told, vote SQuAD
set datafile missing "-"
$shown << END
23 .02 -   .2  -   -   -   .85
43 .52 .68 .23 .40 .15 -   .85
61 .66 .80 .29 .46 .37 .87 .91
79 .77 .82 .36 .50 .52 .94 .93
94 .73 .83 .44 .48 .77 .96 .94
111 .85 .90 .43 .50 .71 1.0 .93
124 .86 .91 .45 .52 .82 .99 .94
END
plot $shown using 1:7 with linespoints lc "#762a83" pt 4 lw 1.5 title "never told, says so", \
  $shown using 1:3 with linespoints lc "#1b7837" pt 5 lw 1.5 title "facts, read again", \
  $shown using 1:2 with linespoints lc "#2166ac" pt 7 lw 1.5 title "facts, memory alone", \
  $shown using 1:6 with linespoints lc "#b2182b" pt 9 lw 1.5 title "told twice, new value", \
  $shown using 1:5 with linespoints lc "#1b7837" dt 2 pt 6 lw 1.5 title "SQuAD, read again", \
  $shown using 1:4 with linespoints lc "#2166ac" dt 2 pt 12 lw 1.5 title "SQuAD, memory alone", \
  $shown using 1:8 with linespoints lc "black" dt 3 pt 2 lw 1.5 title "SQuAD, found by the vote"
