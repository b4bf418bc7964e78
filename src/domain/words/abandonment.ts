/** Words about abandoned calls of a campaign. */
type Abandoned = {
  readonly abandoned: number
  readonly answered: number
  readonly since: string
  readonly until: string
  readonly maxPercent: number
  readonly citation: string
  /** `few`: not yet judged; `near` the limit; `over`: one more would be too many. */
  readonly state: 'few' | 'within' | 'near' | 'over'
  readonly minAnswered: number
  readonly warnPercent: number
}

export const abandonmentWords = {
  'abandoned-calls': (count: Abandoned) => {
    const { abandoned, answered, since, maxPercent, citation } = count
    const text = `${abandoned} of ${answered} answered calls of the campaign abandoned since ${since}, at most ${maxPercent} % (${citation})`
    switch (count.state) {
      case 'few':
        return `${text}, once ${count.minAnswered} were answered`
      case 'within':
        return text
      case 'near':
        return `${text}: near the limit, ${count.warnPercent} % or more`
      case 'over':
        return `${text}: one more would be too many, until ${count.until} at the latest`
    }
  },
  'abandoned-calls-unread': 'how many calls were abandoned could not be read',
} as const
