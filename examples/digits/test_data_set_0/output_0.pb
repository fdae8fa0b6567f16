
BprobabilitiesJ(§91¹Z7vÿ?<û¼4Ê~%v
-'à*Ší3Æ×å2c9)