/** Reports to systemd that the service is ready or stopping (sd_notify(3), `Type=notify`). */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { hasNotifySocket } from '../../config/load.js'
import type { Logger } from '../../observability/log.js'

/**
 * Does nothing unless systemd started the program as a service that notifies. `systemd-notify` sends the
 * message, since Node.js cannot open the datagram socket.
 */
export async function notifySystemd(state: 'READY=1' | 'STOPPING=1', log: Logger): Promise<void> {
  if (!hasNotifySocket()) return
  try {
    await promisify(execFile)('systemd-notify', [state])
  } catch (err) {
    log.warn('systemd could not be notified', { state, err })
  }
}
