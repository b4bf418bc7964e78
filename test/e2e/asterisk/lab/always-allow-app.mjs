/**
 * The least that an ARI application on ari-client can do for a call: it allows every call that enters
 * Stasis(), in two requests. Stands in for callgate in tests of the lab, and is what callgate's
 * latency is held against. Run: node always-allow-app.mjs URL USER PASSWORD [APP]; prints `ready`.
 */
import { Agent, globalAgent } from 'node:http'
import ari from 'ari-client'

const [url, user, password, app = 'callgate'] = process.argv.slice(2)

// Asterisk cuts connections above a limit, and the library waits for their answers for ever.
if (globalAgent instanceof Agent) globalAgent.maxSockets = 32

const client = await ari.connect(url, user, password)

client.on('StasisStart', ({ args }, channel) => {
  const [number] = args
  // A channel that comes from elsewhere than Stasis() names no number and is left alone.
  if (number !== undefined) allow(channel.id, number).catch(report)
})

async function allow(channelId, number) {
  await client.channels.setChannelVar({
    channelId,
    variable: 'ARRAY(CALLGATE_DECISION,CALLGATE_NUMBER,CALLGATE_ID)',
    value: `allow,${number},always`,
  })
  await client.channels.continueInDialplan({ channelId })
}

/** A caller who has hung up meanwhile is no news. */
function report(error) {
  if (!/Channel not found/.test(String(error))) console.error(String(error))
}

await client.start(app)
console.log('ready')
