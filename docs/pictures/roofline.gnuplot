# gnuplot roofline.gnuplot: draws roofline.svg beside it. Numbers: docs/performance.md, "Roofline".
set terminal svg size 760,480 noenhanced font "sans-serif,12"
set output "roofline.svg"
set logscale xy
set xrange [1:2000]
set yrange [20:1000]
set xlabel "operations for each byte read from memory"
set ylabel "GFLOP/s, two threads"
set grid
set key below
bandwidth = 42.7
roof(x, peak) = bandwidth * x < peak ? bandwidth * x : peak
$few << END
3.2 73.7 "1 row"
6.4 119.9 "2"
12.8 152.9 "4"
25.6 213.8 "8"
51.2 219.8 "16"
END
$q8 << END
1.88 76.6 "1 row"
15.1 223.0 "8"
END
$batched << END
102.4 234.9 "32 rows"
819 430.9 "256"
END
$attention << END
1.5 39.0 "1 query"
351 58.7 "256 queries"
END
plot roof(x, 665) lc rgb "black" lw 2 title "42.7 GB/s; bfmmla, or smmla in two terms: 665", \
     roof(x, 166) lc rgb "gray50" dt 2 title "f32: 166", \
     $few using 1:2 with points pt 7 lc rgb "#1f77b4" title "Q4_1, few rows", \
     $few using 1:2:3 with labels offset 0,-1 font ",10" notitle, \
     $q8 using 1:2 with points pt 5 lc rgb "#2ca02c" title "Q8_0, few rows", \
     $q8 using 1:2:3 with labels offset 0,1 font ",10" notitle, \
     $batched using 1:2 with points pt 9 lc rgb "#d62728" title "Q4_1, prompts (bf16)", \
     $batched using 1:2:3 with labels offset 0,1 font ",10" notitle, \
     $attention using 1:2 with points pt 13 lc rgb "#9467bd" title "attention (f32)", \
     $attention using 1:2:3 with labels offset 0,-1 font ",10" notitle
