import { describe, expect, test } from 'vitest'
import { failureOf, reasonIn, toPlainLine } from '../../src/agents/link/failureReasons.ts'
import { readUsage } from '../../src/agents/acp/turnUsage.ts'

describe('the errors of agents that cannot continue', () => {
  test.each([
    ["You've hit your limit · resets 4pm (Europe/Berlin)", 'usage_limit'],
    ['Claude AI usage limit reached|1753077600', 'usage_limit'],
    ["You’ve hit your org's monthly usage limit", 'usage_limit'],
    ['429 {"type":"error","error":{"type":"rate_limit_error"}}', 'usage_limit'],
    ['{"codexErrorInfo":"usageLimitExceeded"}', 'usage_limit'],
    ['Quota exceeded. Check your plan and billing details.', 'usage_limit'],
    ['You exceeded your current quota, please check your plan', 'usage_limit'],
    ['RESOURCE_EXHAUSTED: Quota exceeded for quota metric', 'usage_limit'],
    ['Your credit balance is too low to access the API', 'usage_limit'],
    ['You have exhausted your daily quota on this model.', 'usage_limit'],
    ["Model 'scripted' not found on provider at http://127.0.0.1/v1", 'launch_failed'],
    ['Invalid API key · Please run /login', 'launch_failed'],
    ['401 Incorrect API key provided', 'launch_failed'],
    ['API key not valid. Please pass a valid API key.', 'launch_failed'],
    ['Missing API key for openai auth.', 'launch_failed'],
    ['OAuth token has expired', 'launch_failed'],
    ['The model `gpt-9` does not exist', 'launch_failed'],
    ['Claude Code is unable to respond to this request, which appears to violate our Usage Policy', 'refused'],
    ['The response was filtered: content_filter', 'refused'],
    ['Error: ENOENT: no such file or directory', undefined],
    ['the file limits.ts has 429000 lines', undefined],
    ['', undefined],
  ])('is classified: %s', (words, reason) => {
    expect(reasonIn(words)).toBe(reason)
  })

  test('is reduced by toPlainLine to one plain line of limited length', () => {
    expect(toPlainLine('\u001b[31mred\u001b[0m\r\n\ttext\u0000 \u202eend\u001b]0;title\u0007')).toBe('red text end')
    expect(toPlainLine('x'.repeat(30_000))).toHaveLength(500)
    expect(
      failureOf({ code: -32603, message: 'Internal error', data: { details: 'too many requests' } }, 'crashed'),
    ).toMatchObject({
      reason: 'usage_limit',
      message: 'The agent answered with an error: Internal error ({"details":"too many requests"})',
    })
    expect(failureOf({ code: 429, message: 'Later.' }, 'crashed').reason).toBe('usage_limit')
    expect(failureOf({ code: 500, message: 'terminated' }, 'crashed').reason).toBe('model_error')
    expect(
      failureOf(
        { code: -32603, message: 'Internal error: API Error: 500', data: { errorKind: 'server_error' } },
        'crashed',
      ).reason,
    ).toBe('model_error')
    expect(failureOf({ code: 1, message: 7 }, 'crashed')).toMatchObject({
      reason: 'crashed',
      message: 'The agent answered with an error: no message',
    })
  })
})

test('tokens are counted equally, whether or not an agent counts cached ones as input and thought as output', () => {
  const counted = { inputTokens: 150, outputTokens: 30 }
  expect(
    readUsage({
      inputTokens: 100,
      cachedReadTokens: 40,
      cachedWriteTokens: 10,
      outputTokens: 20,
      thoughtTokens: 10,
      totalTokens: 180,
    }),
  ).toEqual({ ...counted, cachedTokens: 40 })
  expect(
    readUsage({ inputTokens: 100, cachedReadTokens: 50, outputTokens: 30, thoughtTokens: 10, totalTokens: 180 }),
  ).toEqual({ ...counted, cachedTokens: 50 })
  expect(
    readUsage({ inputTokens: 150, cachedReadTokens: 50, outputTokens: 30, thoughtTokens: 10, totalTokens: 180 }),
  ).toEqual({ ...counted, cachedTokens: 50 })
  expect(
    readUsage({ inputTokens: 150, cachedReadTokens: 50, outputTokens: 20, thoughtTokens: 10, totalTokens: 180 }),
  ).toEqual({ ...counted, cachedTokens: 50 })
  expect(readUsage({ input_tokens: 150, output_tokens: 30 })).toEqual(counted)
  for (const odd of [null, 'many', {}, { inputTokens: -5, outputTokens: NaN }, { inputTokens: '9' }])
    expect(readUsage(odd)).toBeNull()
})
