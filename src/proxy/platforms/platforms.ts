/** The platforms that the proxy can stand before. */
import { livekit } from './livekit.js'
import type { Platform, PlatformName } from './platform.js'
import { retell } from './retell.js'
import { telnyx } from './telnyx.js'
import { twilio } from './twilio.js'
import { vapi } from './vapi.js'

export const platforms: Readonly<Record<PlatformName, Platform>> = {
  livekit,
  vapi,
  retell,
  telnyx,
  twilio,
}
