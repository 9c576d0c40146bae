# gnuplot roofline.gnuplot: draws roofline.svg beside it. Numbers: docs/performance.md, "Roofline".
