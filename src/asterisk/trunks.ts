/** Finds the configured trunk of a channel or dial string. */
import type { TrunkSettings } from '../config/settings.js'

/** The suffix of a Local channel half, or of a channel that was replaced by another. */
const channelMarkPattern = /(?:;[12]|<\w+>)$/
/** Asterisk ends the name of a channel with its number: `-0000001f`, `-4`. */
const channelSerialPattern = /-[0-9a-f]+$/
/** Technology and span of `DAHDI/i1/2125550100`, where the dialed number follows the span. */
const spanPattern = /^[^/]+\/[^/]+(?=\/)/

export class Trunks {
  readonly #byChannel: ReadonlyMap<string, TrunkSettings>

  /** The settings guarantee that no two trunks share a channel. */
  constructor(trunks: readonly TrunkSettings[]) {
    this.#byChannel = new Map(trunks.map((trunk) => [trunk.channel, trunk]))
  }

  /** The trunk that `2125550100@carrier-a` or `carrier-a/sip:2125550100@host` dials on. */
  findByDialString(dialString: string): TrunkSettings | undefined {
    for (const [channel, trunk] of this.#byChannel) {
      const endpoint = channel.slice(channel.indexOf('/') + 1)
      if (dialString.endsWith(`@${endpoint}`) || dialString.startsWith(`${endpoint}/`)) return trunk
    }
    return undefined
  }

  /** The trunk of a channel such as `PJSIP/carrier-a-0000001f`; case sensitive. */
  findByChannel(channelName: string): TrunkSettings | undefined {
    const endpoint = channelName.replace(channelMarkPattern, '').replace(channelSerialPattern, '')
    const trunk = this.#byChannel.get(endpoint)
    if (trunk) return trunk
    const span = spanPattern.exec(endpoint)?.[0]
    return span === undefined ? undefined : this.#byChannel.get(span)
  }
}
