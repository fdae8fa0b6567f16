
BprobabilitiesJ(FуT;5Q;‹М—;yU;х;pЗ:Ру€<Ћ";7Щu?g_];