r"""Three questions to four networks, through the diagnostics; what is estimated was fixed before it was computed.

All networks of a seed share the numbers behind their weights; intervals are Student's over seeds at a false-alarm rate
of 0.001. Rates and steps were chosen on the loss alone.

1. *Does the effective two-point theory fit with batch normalisation and with leakage?* The theory's two rates are
   fitted to h, y, w of the layer at half depth. U = mean over the three curves of 1 - max(R^2, 0), the unexplained
   share (cut off at 1 after a first run, where a curve that hardly moves gave U = 1e8 with batch normalisation).
   Estimand: mean over seeds of log2(U of the network / U of the plain one). The theory fits as well if it is at most
   1, at most twice the unexplained share. On the two points alone, the theory's own setting; on pairs of digits in a
   batch (mean over pairs of log2 U) beside it, for description. Summed fit losses, eq. (49), go with the size of h and
   are not compared. A first choice of depth, gain and moments was given up, because the theory failed for the plain
   network itself (U from 0.3 to 1.2), which left nothing to compare with; the present one was made on the plain
   network alone, at small initial weights, with moments evenly spaced as eq. (49) counts them.
2. *Does a bottleneck of the task's rank show?* r(task) = effective rank at half depth without the mean over points,
   after training, over the rank of the centred targets; two tasks on the same images, of ranks 9 and 2. Estimand: mean
   over seeds of log2 r. A bottleneck of the task's rank shows if it lies within [-1, 1], a factor of two, in both.
3. *Does the odd point survive training?* Largest over second largest norm in the last hidden layer of deep networks on
   a small batch. Estimand: mean over seeds of log2 of that ratio, before and after training. An odd point is there if
   it is at least 1, the largest norm twice the second; there is none if it is at most 1. Batch normalisation in full
   is known to make none, so recentring without rescaling runs beside the four.
"""
