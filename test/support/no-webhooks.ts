/** A queue that keeps no notifications: an address is refused, and nothing is left unsaid. */
import { invalidRequest } from '../../src/errors.js'
import type { WebhookQueue } from '../../src/service/webhooks/webhook-queue.js'

export const noWebhooks: WebhookQueue = {
  async add() {
    throw new Error('notifications cannot be kept here')
  },
  wake: () => undefined,
  probe: async () => ({ httpStatus: undefined, problem: 'notifications cannot be sent from here' }),
  findLastDelivery: async () => undefined,
  refuseBadUrl(field, url) {
    throw invalidRequest([{ field, value: url, rule: 'notifications are not available here' }])
  },
}
