import type { RawUpdate, TurnUsage } from '../link/agentLink.ts'
import { asObject } from '../link/json.ts'

const count = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0
    ? Math.min(Math.round(value), Number.MAX_SAFE_INTEGER)
    : 0

/**
 * Parses an agent's token usage. Returns null if it contains no tokens. Agents differ in whether the input includes cached tokens and the
 * output includes thought tokens, so their total decides.
 */
export function readUsage(value: unknown): TurnUsage | null {
  const usage = asObject(value)
  const [input, output, total] = [
    count(usage.inputTokens ?? usage.input_tokens),
    count(usage.outputTokens ?? usage.output_tokens),
    count(usage.totalTokens ?? usage.total_tokens),
  ]
  if (input + output === 0) return null
  const cacheReads = count(usage.cachedReadTokens)
  const [cached, thought] = [cacheReads + count(usage.cachedWriteTokens), count(usage.thoughtTokens)]
  const counts = [
    [cached, 0],
    [cached, thought],
    [0, 0],
    [0, thought],
  ] as const
  const [moreInput, moreOutput] = counts.find(([more, evenMore]) => input + more + output + evenMore === total) ?? [
    0, 0,
  ]
  const inputTokens = input + moreInput
  return { inputTokens, outputTokens: output + moreOutput, ...cachedOf(Math.min(cacheReads, inputTokens)) }
}

const cachedOf = (cachedTokens: number): Pick<TurnUsage, 'cachedTokens'> => (cachedTokens > 0 ? { cachedTokens } : {})

/** The usage in the response to a prompt: in `usage`, or in the fields of older agents. */
export function usageOfTurn(response: unknown): TurnUsage | null {
  const { usage, _meta } = asObject(response)
  return readUsage(usage) ?? readUsage(asObject(asObject(_meta).quota).token_count) ?? readUsage(asObject(_meta).usage)
}

/** The usage of one model call, which some agents send with a message chunk instead. */
export const usageOfUpdate = ({ _meta }: RawUpdate): TurnUsage | null => readUsage(asObject(_meta).usage)

export const addUsage = (a: TurnUsage | null, b: TurnUsage | null): TurnUsage | null =>
  a && b
    ? {
        inputTokens: a.inputTokens + b.inputTokens,
        outputTokens: a.outputTokens + b.outputTokens,
        ...cachedOf((a.cachedTokens ?? 0) + (b.cachedTokens ?? 0)),
      }
    : (a ?? b)

/** The difference between two cumulative usages of one session. */
export const usageSince = (now: TurnUsage, before: TurnUsage | null): TurnUsage => ({
  inputTokens: Math.max(0, now.inputTokens - (before?.inputTokens ?? 0)),
  outputTokens: Math.max(0, now.outputTokens - (before?.outputTokens ?? 0)),
  ...cachedOf(Math.max(0, (now.cachedTokens ?? 0) - (before?.cachedTokens ?? 0))),
})
