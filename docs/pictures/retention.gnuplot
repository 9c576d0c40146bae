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
0 .96 .92 .90 .94 .90 .87 .93 .92
1 .96 .88 .85 .91 .81 .78 .85 .00
2 .96 .82 .79 .86 .77 .73 .80 .00


0 .54 .51 .47 .56 .39 .35 .43 .41
1 .54 .49 .45 .54 .35 .31 .39 .02
2 .54 .50 .45 .54 .36 .32 .40 .01
END
do for [i = 0:1] {
  set title (i == 0 ? "made-up facts" : "SQuAD")
  set ylabel (i == 0 ? "exact answers" : "")
  plot $shown index i using 1:2 with lines lc "black" dt 2 lw 1.5 title "passage in the window, no memory", \
    $shown index i using 1:3:4:5 with yerrorlines lc "#1b7837" pt 5 lw 1.5 title "memory, best passage read again", \
    $shown index i using 1:6:7:8 with yerrorlines lc "#2166ac" pt 7 lw 1.5 title "memory tokens alone", \
    $shown index i using 1:9 with linespoints lc "#b2182b" pt 9 lw 1.5 title "short-term memory only"
}
