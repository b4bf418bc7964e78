/** The configured trunks, found by the name of a channel on them or by their own name. */
import type { TrunkSettings } from '../config.js'

/** The half of a Local channel, or the mark of a channel that another has taken the place of. */
const mark = /(?:;[12]|<\w+>)$/
/** Asterisk ends the name of a channel with its number: `-0000001f`, `-4`. */
const serial = /-[0-9a-f]+$/
/** Technology and endpoint of `DAHDI/i1/2125550100`, where the number dialled follows the span. */
const withoutNumber = /^[^/]+\/[^/]+(?=\/)/

export class Trunks {
  readonly #byChannel = new Map<string, TrunkSettings>()
  readonly #byName = new Map<string, TrunkSettings>()

  /** Throws an error that names the setting when two trunks share a name or a channel. */
  constructor(trunks: readonly TrunkSettings[]) {
    trunks.forEach((trunk, index) => {
      enter(this.#byName, { key: trunk.name, trunk, setting: `asterisk.trunks.${index}.name` })
      const setting = `asterisk.trunks.${index}.channel`
      enter(this.#byChannel, { key: trunk.channel, trunk, setting })
    })
  }

  /** The trunk of a channel such as `PJSIP/carrier-a-0000001f`; upper and lower case differ. */
  of(channelName: string): TrunkSettings | undefined {
    const endpoint = channelName.replace(mark, '').replace(serial, '')
    const found = this.#byChannel.get(endpoint)
    if (found) return found
    const span = withoutNumber.exec(endpoint)?.[0]
    return span === undefined ? undefined : this.#byChannel.get(span)
  }

  byName(name: string): TrunkSettings | undefined {
    return this.#byName.get(name)
  }
}

function enter(
  index: Map<string, TrunkSettings>,
  { key, trunk, setting }: { key: string; trunk: TrunkSettings; setting: string },
): void {
  if (index.has(key)) throw new Error(`${setting} '${key}': must not be that of another trunk`)
  index.set(key, trunk)
}
