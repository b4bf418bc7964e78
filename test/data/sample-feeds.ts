/** Made-up rows in the form of the administrators' files. */

/** Cells padded as NANPA pads them, so that trimming is always tried. */
export function nanpaText(rows: readonly string[][], updated = '07/06/2026'): string {
  const header = ['State', 'NPA-NXX', 'OCN ', 'Company   ', 'RateCenter', 'EffectiveDate', 'Use']
  const rest = ['AssignDate   ', 'Initial/Growth', 'Pooled Code ', 'In Service  ']
  const lines = rows.map((cells) => {
    const [state, prefix, ocn, company, centre, use = 'AS', effective = ''] = cells
    const quoted = company === '' ? '' : `"${company}"`
    return [state, prefix, ocn, quoted, centre, effective, use, '02/21/2006', 'I', 'N', 'Yes']
      .map((cell) => `${cell}   `)
      .join('\t')
  })
  return `${[[...header, ...rest, `File Updated ${updated}`].join('\t'), ...lines].join('\r\n')}\r\n`
}

export function cnacText(rows: readonly string[], day = '2026-11-18'): string {
  const header =
    '"NPA","CO Code (NXX)","Status","Exchange Area","Province","Company","OCN","Remarks"'
  return `${[header, `,,,,,,,${day}`, ...rows].join('\r\n')}\r\n`
}

export const nanpaRows: readonly string[][] = [
  ['FL', '850-550', 'ZZ01', 'EXAMPLE WIRELESS LLC', 'PENSACOLA'],
  ['FL', '850-551', 'ZZ02', 'EXAMPLE TEL CO', 'TALLAHASSE'],
  ['FL', '850-552', 'ZZ02', 'EXAMPLE TEL CO', 'XXXXXXXXXX'],
  ['FL', '850-553', '', '', 'PENSACOLA', 'UA'],
  ['FL', '850-554', 'ZZ02', 'EXAMPLE TEL CO', 'PENSACOLA', 'AS', '11/21/2026'],
  ['FL', '850-556', 'ZZ02', 'EXAMPLE TEL CO', 'PENSACOLA', 'AS', '11/20/2026'],
  ['NN', '670-550', 'ZZ03', 'EXAMPLE ISLAND CO', 'SAIPAN'],
  ['NY', '212-550', 'MULT', 'MULTIPLE OCN LISTING', 'NWYRCYZN01'],
]

export const cnacRows: readonly string[] = [
  '807,550,"In Service","Kenora","ON","Example Mobile Inc.","ZZ04",',
  '867,550,"Assigned","Iqaluit","NU","Example North, Ltd.","ZZ05","new"',
  '867,551,"In Service","Whitehorse","YT","Example North, Ltd.","ZZ05",',
  '807,551,"Available",,,,,',
  '807,310,"In Service","7 Digit Service",,"Example","ZZ04",',
]

/** The FTC's daily file of reported calls, as it is downloaded. */
export function ftcText(rows: readonly string[]): string {
  const header =
    'Company_Phone_Number,Created_Date,Violation_Date,Consumer_City,Consumer_State,' +
    'Consumer_Area_Code,Subject,Recorded_Message_Or_Robocall'
  return `${[header, ...rows].join('\r\n')}\r\n`
}

/** The second one is about no number. */
export const ftcRows: readonly string[] = [
  '8505550123,2026-11-17 00:04:31,2026-11-16 19:07:00,Springfield,Illinois,217,' +
    '"Reducing your debt (credit cards, mortgage, student loans)",Y',
  ',2026-11-17 00:09:02,2026-11-16 08:00:00,,Texas,512,Dropped call or no message,N',
  '8505550124,2026-11-17 01:00:00,2026-11-16 08:00:00,,,,Dropped call or no message,',
  '8505550123,2026-11-17 09:30:00,2026-11-17 09:00:00,Austin,Texas,512,Other,N',
]
