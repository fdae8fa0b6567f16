
BprobabilitiesJ(Wð):WÉx:75I9Òî×9L%:·s~?1º9:û‘Ä:W2x9yT: