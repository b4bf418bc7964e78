import { expect, it } from 'vitest'
import { createVerdictVariables } from '../../../src/asterisk/gate/verdict-variables.js'
import { fakeCompliance } from '../../support/fake-compliance.js'
import { aCall, testGate } from '../../support/test-gate.js'

it('the dialplan gets the trace of the call, or an empty variable', async () => {
  const { gate } = testGate(fakeCompliance())
  const trace = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true }
  const traced = createVerdictVariables(await gate.decide(aCall({ trace })), '')
  expect(traced.CALLGATE_TRACEPARENT).toBe(`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`)
  const untraced = createVerdictVariables(await gate.decide(aCall()), '')
  expect(untraced.CALLGATE_TRACEPARENT).toBe('')
})
