
BprobabilitiesJ(I³z9}@‡9›§?Dø8ûÅ8Ê­.9Ow‚9Ç)8¼²z8'¨ı8