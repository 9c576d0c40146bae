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
$facts << END
0 .92 .87 .78 .86
1 .92 .85 .70 .01
2 .92 .80 .66 .00
END
$squad << END
0 .53 .52 .36 .41
1 .53 .48 .29 .02
2 .53 .46 .29 .02
END
half = 0.04
set title "made-up facts"
set ylabel "exact answers"
plot $facts using 1:2 with lines lc "black" dt 2 lw 1.5 title "passage in the window, no memory", \
  $facts using 1:3:(half) with yerrorlines lc "#1b7837" pt 5 lw 1.5 title "memory, best passage read again", \
  $facts using 1:4:(half) with yerrorlines lc "#2166ac" pt 7 lw 1.5 title "memory tokens alone", \
  $facts using 1:5 with linespoints lc "#b2182b" pt 9 lw 1.5 title "short-term memory only"
set title "SQuAD"
unset ylabel
plot $squad using 1:2 with lines lc "black" dt 2 lw 1.5 title "passage in the window, no memory", \
  $squad using 1:3:(half) with yerrorlines lc "#1b7837" pt 5 lw 1.5 title "memory, best passage read again", \
  $squad using 1:4:(half) with yerrorlines lc "#2166ac" pt 7 lw 1.5 title "memory tokens alone", \
  $squad using 1:5 with linespoints lc "#b2182b" pt 9 lw 1.5 title "short-term memory only"
