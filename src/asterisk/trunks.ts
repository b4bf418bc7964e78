/** The configured trunks, found by the name of a channel on them. */
import type { TrunkSettings } from '../config.js'

/** The half of a Local channel, or the mark of a channel that another has taken the place of. */
const mark = /(?:;[12]|<\w+>)$/
/** Asterisk ends the name of a channel with its number: `-0000001f`, `-4`. */
const serial = /-[0-9a-f]+$/
/** Technology and endpoint of `DAHDI/i1/2125550100`, where the number dialled follows the span. */
const withoutNumber = /^[^/]+\/[^/]+(?=\/)/

export class Trunks {
  readonly #byChannel: ReadonlyMap<string, TrunkSettings>

  /** The settings have made sure that no two share a channel. */
  constructor(trunks: readonly TrunkSettings[]) {
    this.#byChannel = new Map(trunks.map((trunk) => [trunk.channel, trunk]))
  }

  /** The trunk that `2125550100@carrier-a` or `carrier-a/sip:2125550100@host` dials on. */
  named(dialString: string): TrunkSettings | undefined {
    for (const [channel, trunk] of this.#byChannel) {
      const endpoint = channel.slice(channel.indexOf('/') + 1)
      if (dialString.endsWith(`@${endpoint}`) || dialString.startsWith(`${endpoint}/`)) return trunk
    }
    return undefined
  }

  /** The trunk of a channel such as `PJSIP/carrier-a-0000001f`; upper and lower case differ. */
  of(channelName: string): TrunkSettings | undefined {
    const endpoint = channelName.replace(mark, '').replace(serial, '')
    const found = this.#byChannel.get(endpoint)
    if (found) return found
    const span = withoutNumber.exec(endpoint)?.[0]
    return span === undefined ? undefined : this.#byChannel.get(span)
  }
}
