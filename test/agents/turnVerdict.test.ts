import { describe, expect, test } from 'vitest'
import { createConversation, newTurn } from '../../src/agents/acp/conversation.ts'
import { createKnownCalls } from '../../src/agents/acp/knownCalls.ts'
import { usageOfTurn } from '../../src/agents/acp/turnUsage.ts'
import { AgentFailure, type RawUpdate } from '../../src/agents/link/agentLink.ts'
import { judgeTurn } from '../../src/agents/link/turnVerdict.ts'
import { builtIn } from '../../src/agents/providers/builtInProviders.ts'

/** The verdict on a turn with these updates and this final response. */
function judged(agent: string, updates: readonly RawUpdate[], response: object = { stopReason: 'end_turn' }) {
  const conversation = createConversation({ update: () => {}, permission: () => {}, permissionWithdrawn: () => {} })
  conversation.setSession('one')
  conversation.rawListener.response('session/load', {})
  const turn = (conversation.turn = newTurn(createKnownCalls(undefined)))
  for (const update of updates) void conversation.rawListener.update('one', update, 100)
  const told = usageOfTurn(response)
  const rule = builtIn.find(({ id }) => id === agent)?.failedTurn
  try {
    const signs = { ...turn, usage: told ?? turn.usage, responseHasUsage: told !== null }
    return judgeTurn((response as { stopReason: unknown }).stopReason, signs, rule).stopReason
  } catch (error) {
    if (!(error instanceof AgentFailure)) throw error
    return `${error.reason}: ${error.message}`
  }
}

const says = (text: string): RawUpdate => ({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
const calls: RawUpdate = { sessionUpdate: 'tool_call', toolCallId: 'one', title: 'ls', kind: 'execute' }
const state = (codex: object): RawUpdate => ({ sessionUpdate: 'session_info_update', _meta: { codex } })
const systemError = state({ threadStatus: { type: 'systemError' } })
const active = state({ threadStatus: { type: 'active', activeFlags: [] } })
const retry = (httpStatusCode: number | null) =>
  state({
    error: {
      message: 'Reconnecting... 1/5',
      codexErrorInfo: { responseStreamDisconnected: { httpStatusCode } },
      additionalDetails: 'exceeded retry limit',
      willRetry: true,
    },
  })
const usage = { inputTokens: 1000, outputTokens: 20, totalTokens: 1020 }
const ended = { stopReason: 'end_turn', usage: null, _meta: { quota: { token_count: null, model_usage: [] } } }
const paid = { stopReason: 'end_turn', usage }

describe('Codex, which ends failed turns as successful,', () => {
  test.each<[string, readonly RawUpdate[], object, string]>([
    ['404', [says('The model scripted does not exist.\n\n'), systemError], ended, 'launch_failed: The model'],
    [
      '429',
      [retry(429), says('exceeded retry limit, last status: 429 Too Many Requests\n\n'), systemError],
      ended,
      'usage_limit: exceeded retry limit',
    ],
    [
      '500',
      [
        retry(null),
        says('We’re currently experiencing high demand, which may cause temporary errors.\n\n'),
        systemError,
      ],
      ended,
      'model_error: We’re currently',
    ],
    ['500 after good calls', [calls, retry(null), says('We’re sorry.\n\n'), systemError], paid, 'model_error: We’re'],
    ['a status without words', [retry(429), systemError], ended, 'usage_limit: Reconnecting'],
    [
      'a cut stream',
      [says('stream disconnected before completion: Transport error'), systemError],
      ended,
      'model_error: ',
    ],
    ['a retry that helped', [retry(429), says('Done.'), active], paid, 'end_turn'],
    ['a warning', [says('Warning: Model metadata for `scripted` not found.'), active, says('Done.')], paid, 'end_turn'],
  ])('is judged by its own state: %s', (_, updates, response, verdict) => {
    expect(judged('codex', updates, response)).toContain(verdict)
  })
})

describe('Copilot, whose program reports its errors as messages,', () => {
  const info = says('Info: Request failed due to a transient API error. Retrying...')
  const report = (text: string) => says(`Error: ${text}`)
  test.each<[string, readonly RawUpdate[], object, string]>([
    [
      '401',
      [
        info,
        info,
        report('Authentication failed with provider at http://127.0.0.1:1/v1 (HTTP 401).\n  Check your KEY.'),
      ],
      { stopReason: 'end_turn' },
      'launch_failed: Error: Authentication failed with provider',
    ],
    [
      '404',
      [report("Model 'scripted' not found on provider at http://127.0.0.1:1/v1 (HTTP 404).\n  Check that it is.")],
      { stopReason: 'end_turn' },
      'launch_failed: Error: Model',
    ],
    [
      '429',
      [report('Failed to get response from the AI model; retried 5 times Last error: 429 Rate limit reached.')],
      { stopReason: 'end_turn' },
      'usage_limit: Error: Failed',
    ],
    [
      '500',
      [report('Failed to get response from the AI model; retried 5 times Last error: 500 Internal server error.')],
      { stopReason: 'end_turn' },
      'model_error: Error: Failed',
    ],
    [
      '500 after good calls',
      [
        calls,
        report('Failed to get response from the AI model; retried 5 times Last error: 500 Internal server error.'),
      ],
      paid,
      'model_error: Error: Failed',
    ],
    ['its own remark', [says('Done.'), says('Info: /path/of/a/file')], paid, 'end_turn'],
    ['a model about errors, in pieces', [says('Error: '), says('is what it said; I fixed it.')], paid, 'unclear: '],
  ])('is judged by its last message: %s', (_, updates, response, verdict) => {
    expect(judged('copilot', updates, response)).toContain(verdict)
  })
})

describe('Any agent', () => {
  test.each<[string, readonly RawUpdate[], object, string]>([
    ['without tokens', [says('API Error: 500 Internal server error')], ended, 'model_error: API Error'],
    ['without tokens, in pieces', [says('Error: 429 Rate '), says('limit reached')], ended, 'usage_limit: Error: 429'],
    [
      'with tokens',
      [says('Error: connection refused')],
      paid,
      "unclear: The agent's last message looks like an error: Error",
    ],
    ['after calls', [says('I look.'), calls, says('Internal error: it broke')], paid, 'unclear: '],
    ['with words after its last call', [says('Error: none'), calls, says('All is well.')], paid, 'end_turn'],
    ['in the midst of a long answer', [says(`Error: one\n${'I fixed it.\n'.repeat(100)}`)], paid, 'end_turn'],
    ['that speaks about errors', [says('Errors are handled now: see README.')], ended, 'end_turn'],
    ['that denies an error', [says('Error handling is done.')], ended, 'end_turn'],
    ['at the end of a limit', [says("You've hit your limit · resets 4pm")], ended, 'usage_limit: '],
    ['that is cancelled', [says('Error: 500')], { stopReason: 'cancelled' }, 'cancelled'],
  ])('has not completed its work if it only reports an error: %s', (_, updates, response, verdict) => {
    expect(judged('qwen', updates, response)).toContain(verdict)
  })
})
