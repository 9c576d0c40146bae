# gnuplot retention.gnuplot: draws retention.svg beside it. Numbers: the first table of docs/results.md.
set terminal svg size 900,340 font "sans-serif,12"
set output "retention.svg"
set multiplot layout 1,2
set yrange [0:1]
set xrange [-0.2:2.2]
set xtics ("at once" 0, "20,000" 1, "160,000" 2)
set xlabel "tokens read since"
set grid ytics
set key below maxrows 2
# tokens, in the window, read again (and its interval), memory alone (and its interval), short-term only
$shown << END
0 .978 .946 .927 .964 .950 .931 .968 .960
1 .978 .925 .901 .946 .887 .859 .913 .002
2 .978 .913 .887 .937 .859 .829 .889 .000


0 .554 .534 .492 .575 .478 .437 .524 .456
1 .554 .534 .492 .577 .464 .423 .510 .016
2 .554 .522 .480 .565 .454 .415 .500 .008
END
do for [i = 0:1] {
  set title (i == 0 ? "made-up facts" : "SQuAD")
  set ylabel (i == 0 ? "exact answers" : "")
  plot $shown index i using 1:2 with lines lc "black" dt 2 lw 1.5 title "passage in the window, no memory", \
    $shown index i using 1:3:4:5 with yerrorlines lc "#1b7837" pt 5 lw 1.5 title "memory, best passage read again", \
    $shown index i using 1:6:7:8 with yerrorlines lc "#2166ac" pt 7 lw 1.5 title "memory tokens alone", \
    $shown index i using 1:9 with linespoints lc "#b2182b" pt 9 lw 1.5 title "short-term memory only"
}
