import { expect, test } from 'vitest'
import { limitEndIn } from '../../src/agents/link/limitEnd.ts'

const now = new Date('2026-11-22T19:30:00Z')
const zone = 'Europe/Berlin'

test.each([
  // Claude Code
  ["You've hit your limit · resets 10pm (Europe/Berlin)", '2026-11-22T21:00:00.000Z'],
  ["You've hit your session limit · resets 12:50am (America/Los_Angeles)", '2026-11-23T08:50:00.000Z'],
  ['You’ve hit your session limit · resets 3:20am (Asia/Calcutta)', '2026-11-22T21:50:00.000Z'],
  ["You've hit your limit · resets Nov 25 at 9pm (America/New_York)", '2026-11-26T02:00:00.000Z'],
  ["You've hit your weekly limit · resets Nov 24, 9am (Asia/Tokyo)", '2026-11-24T00:00:00.000Z'],
  ['5-hour limit reached ∙ resets 2am', '2026-11-23T01:00:00.000Z'],
  ['Limits will reset at 9:30 AM. View your usage details.', '2026-11-23T08:30:00.000Z'],
  ['Claude AI usage limit reached|1795383000', '2026-11-22T21:30:00.000Z'],
  ['Claude usage limit reached. Your limit will reset at 9pm (Etc/GMT-1).', '2026-11-22T20:00:00.000Z'],
  ['Your limit will reset at midnight (UTC).', '2026-11-23T00:00:00.000Z'],
  // Codex
  ["You've hit your usage limit. Try again at 11:05 PM.", '2026-11-22T22:05:00.000Z'],
  [
    "You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing) or try again in 5 days 22 hours 11 minutes.",
    '2026-11-28T17:41:00.000Z',
  ],
  [
    "You've hit your usage limit. Visit https://chatgpt.com/codex/settings/usage or try again at Nov 26th, 2026 7:38 AM.",
    '2026-11-26T06:38:00.000Z',
  ],
  ['or try again at Nov 26, 2026, 7:38 AM', '2026-11-26T06:38:00.000Z'],
  [
    '{"type":"usage_limit_reached","plan_type":"plus","resets_at":1795391400,"resets_in_seconds":13872}',
    '2026-11-22T23:50:00.000Z',
  ],
  ['{"type":"usage_limit_reached","resets_in_seconds":13872}', '2026-11-22T23:21:12.000Z'],
  // Gemini, Google
  ['You have exhausted your capacity on this model. Your quota will reset after 8h44m7s.', '2026-11-23T04:14:07.000Z'],
  ['Your quota will reset after 53s.', '2026-11-22T19:30:53.000Z'],
  ['{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}', '2026-11-22T19:30:34.500Z'],
  ['{\\"retryDelay\\":\\"34s\\"}', '2026-11-22T19:30:34.000Z'],
  ['Please retry in 12.25s.', '2026-11-22T19:30:12.250Z'],
  // Copilot
  [
    "Sorry, you've hit a rate limit. Please try again in 51 hours. Please review our Terms of Service",
    '2026-11-24T22:30:00.000Z',
  ],
  ['Please wait 2 minutes before trying again or consider switching to Auto.', '2026-11-22T19:32:00.000Z'],
  [
    "You've reached your weekly rate limit. Please wait for your limit to reset on November 24, 2026 at 2:00 AM or switch",
    '2026-11-24T01:00:00.000Z',
  ],
  // OpenAI and compatible services
  [
    'Rate limit reached for o4-mini on tokens per min (TPM): Limit 200000. Please try again in 1.574s. Visit https://x',
    '2026-11-22T19:30:01.574Z',
  ],
  ['Please try again in 6ms.', '2026-11-22T19:30:00.006Z'],
  ['Please try again in 7m12s.', '2026-11-22T19:37:12.000Z'],
  ['429 Too Many Requests (retry-after: 120)', '2026-11-22T19:32:00.000Z'],
  ['{"retry-after-ms":"1500"}', '2026-11-22T19:30:01.500Z'],
  ['Retry after 30 seconds', '2026-11-22T19:30:30.000Z'],
  ['Quota resets at 2026-11-23T06:00:00Z', '2026-11-23T06:00:00.000Z'],
  ['limit resets at 2026-11-23 06:00 UTC', '2026-11-23T06:00:00.000Z'],
  ['try again in 5h 12m', '2026-11-23T00:42:00.000Z'],
  ['resets 23:15', '2026-11-22T22:15:00.000Z'],
] as const)('the end of a limit is read from: %s', (words, end) => {
  expect(limitEndIn(words, now, zone)).toBe(end)
})

test.each([
  ['Rate limit reached for requests.'],
  ['You have exhausted your daily quota on this model.'],
  ['exceeded retry limit, last status: 429 Too Many Requests'],
  // The end has passed, is too far ahead, or has just passed: there is nothing to wait for.
  ['Claude AI usage limit reached|1700000000'],
  ['Please wait 587 hours 33 minutes before trying again.'],
  ['try again at Aug 20, 2026, 7:38 AM'],
  ['resets 8:25pm'],
  // No times.
  ['resets 3'],
  ['try again at 25:00'],
  ['resets 13pm'],
  ['reset 4 of 5 attempts'],
  ['resets Nov 99 at 9pm (Nowhere/Land)'],
  [''],
])('no end is invented from: %s', words => {
  expect(limitEndIn(words, now, zone)).toBeUndefined()
})

test('a time of day is one of its zone on that day, also across clock changes', () => {
  const saturday = new Date('2026-10-24T21:00:00Z')
  expect(limitEndIn('resets 8am (Europe/Berlin)', saturday)).toBe('2026-10-25T07:00:00.000Z')
  expect(limitEndIn('resets 8am (America/New_York)', saturday)).toBe('2026-10-25T12:00:00.000Z')
  const december = new Date('2026-12-30T12:00:00Z')
  expect(limitEndIn('resets Jan 2 at 9am (UTC)', december)).toBe('2027-01-02T09:00:00.000Z')
})

const starts = [
  'limit reached#limit reached|#resets at:#reset_time="#retry-after#retry after:#retry-after-ms=#again#wait#retryDelay":"',
  'again in 1#again in 1.#again 2026-11-23#try again at#resets#resets 1#resets 10:20#resets 10pm#resets 10pm (',
  'resets 10pm (a/#resetsjan#resets jan#resets jan 1#resets jan 1, 2026#resets at 2026-11-23#resets at 2026-11-23T06:00:00',
].flatMap(line => line.split('#'))
const fillers = '# #\n# \n#\t# at# in #1#1.#.1#1s#1 s,#a#,#:#"#(#a/# and'.split('#')
/** Texts of 20,000 characters with the maximum number of partial matches for the search patterns. */
const hostileTexts = starts.flatMap(start =>
  fillers.flatMap(filler =>
    [start + filler.repeat(20_000), (start + filler).repeat(20_000)].map(text => text.slice(0, 20_000)),
  ),
)

test('the search of a long text takes time proportional to its length', () => {
  const pieces = 16
  const costOf = (text: string, times: number): number => {
    const began = process.cpuUsage()
    for (let at = 0; at < times; at++) limitEndIn(text, now, zone)
    return process.cpuUsage(began).user
  }
  const slow = hostileTexts.filter(text => {
    const beginning = text.slice(0, text.length / pieces)
    // Quadratic time would be 16 times as long. One of 20 undisturbed measurements is enough.
    return !Array.from({ length: 20 }).some(() => costOf(text, 1) < 4 * costOf(beginning, pieces) + 1000)
  })
  expect(slow.map(text => text.slice(0, 40))).toEqual([])
})
