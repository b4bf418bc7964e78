/** The platforms that the proxy can stand before. */
import type { PlatformName } from '../../platform-events/call-event.js'
import { bland } from './bland.js'
import { elevenlabs } from './elevenlabs.js'
import { livekit } from './livekit.js'
import type { Platform } from './platform.js'
import { retell } from './retell.js'
import { telnyx } from './telnyx.js'
import { signalwire, twilio } from './twilio.js'
import { vapi } from './vapi.js'

export const platforms: Readonly<Record<PlatformName, Platform>> = {
  livekit,
  vapi,
  retell,
  telnyx,
  twilio,
  elevenlabs,
  bland,
  signalwire,
}
