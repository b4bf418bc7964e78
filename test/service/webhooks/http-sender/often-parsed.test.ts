import { expect, it } from 'vitest'
import { parseWebhookUrl } from '../../../../src/service/webhooks/http-sender/webhook-url.js'

it('takes the same URL however often it has been asked', () => {
  // Node.js optimizes URL.canParse after some thousand calls, and then refuses such names.
  const url = 'https://bücher.example/ü?q=ü'
  let refused = 0
  for (let count = 0; count < 20_000; count += 1) {
    for (const one of [url, 'https://plain.example/']) {
      try {
        parseWebhookUrl(one)
      } catch {
        refused += 1
      }
    }
  }
  expect(refused).toBe(0)
})
