/** Made-up thousands blocks in the form of NANPA's report. */

export interface Block {
  /** Seven digits. */
  readonly block: string
  readonly state?: string
  readonly status?: string
  readonly rateCentre?: string
  readonly effective?: string
  readonly ocn?: string
  readonly company?: string
}

/** The report of thousands blocks; a block is assigned to a wireless company unless told otherwise. */
export function blocksText(blocks: readonly Block[]): string {
  const header =
    'Region,State,NPA,NXX,X,STATUS,Code Holder,Contaminated (Y or N),' +
    'Contaminated TNs not Available for Assignment,Rate Center,Block Effective Date,' +
    'Block Available Date,Assigned To,OCN,Date Assigned'
  const rows = blocks.map(({ block, state = 'FL', status = 'AS', ...more }) => {
    const { rateCentre = 'PENSACOLA', effective = '03/02/2020', ocn = 'ZZ01' } = more
    const { company = 'EXAMPLE WIRELESS LLC' } = more
    const digits = [block.slice(0, 3), block.slice(3, 6), block.slice(6)]
    const holder = company.includes(',') ? `"${company}"` : company
    return [
      'Southern',
      state,
      ...digits,
      status,
      'EXAMPLE TEL CO',
      'N',
      '',
      rateCentre,
      effective,
      '',
      holder,
      ocn,
      '02/01/2020',
    ].join(',')
  })
  return `${[header, ...rows].join('\r\n')}\r\n`
}
