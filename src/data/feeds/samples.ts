/** Sample files, which the commands print and the console shows. The numbers are fictional. */
export const samples = {
  numbers: 'phone\n2125550101\n2125550102\n',
  'opt-outs': 'number,date\n2125550101,2026-11-20\n2125550102,2026-11-20T14:05:00-05:00\n',
  consents:
    'number,type,date,obligationEnds,reference,brand,email\n' +
    '2125550101,P,2026-11-20,,order 17,,ana@example.com\n' +
    '2125550102,I,2026-11-20T14:05:00-05:00,,,,\n',
  'permissions with evidence':
    'number,givenAt,seller,channel,method,wording\n' +
    '2125550101,2026-11-20T19:05:00Z,Acme Calls,web,written,I agree to calls of Acme Calls.\n',
  'caller-ids':
    'number,owner,proof,carrier,attestation\n2125550199,Acme Calls,invoice 4711,Example Telecom,A\n',
  attempts: 'number,at,ref,channel,answered\n2125550101,2026-11-20T19:05:00Z,call-1,call,yes\n',
} as const
