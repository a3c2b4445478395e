import type { Price } from './price.ts'

/**
 * Prices of models in US dollars per million tokens, at the providers' standard rates for prompts of usual length on 2026-11-23. The
 * providers' pages:
 *
 * - https://platform.claude.com/docs/en/about-claude/pricing (the cache price of Sonnet 5.5 applies from 2026-10-07)
 * - https://developers.openai.com/api/docs/pricing, and the pages of its models
 * - https://ai.google.dev/gemini-api/docs/pricing (the Flash prices apply until 2026-12-31)
 *
 * The list omits models whose price varies by a factor of five with the length of the prompt, such as Claude Haiku 5.5, because agents do
 * not report that length. `cachedInput` is optional: without it, cached input costs as much as other input.
 */
export const shippedPrices: readonly Price[] = [
  { model: 'claude-fable-5.1', input: 10, cachedInput: 0.25, output: 50 },
  { model: 'claude-fable-5', input: 10, cachedInput: 1, output: 50 },
  { model: 'claude-opus-5.5', input: 4, cachedInput: 0.2, output: 20 },
  { model: 'claude-opus-5', input: 5, cachedInput: 0.5, output: 25 },
  { model: 'claude-opus-4.8', input: 5, cachedInput: 0.5, output: 25 },
  { model: 'claude-opus-4.7', input: 5, cachedInput: 0.5, output: 25 },
  { model: 'claude-opus-4.6', input: 5, cachedInput: 0.5, output: 25 },
  { model: 'claude-opus-4.5', input: 5, cachedInput: 0.5, output: 25 },
  { model: 'claude-opus-4.1', input: 15, cachedInput: 1.5, output: 75 },
  { model: 'claude-sonnet-5.5', input: 2, cachedInput: 0.1, output: 10 },
  { model: 'claude-sonnet-5', input: 2, cachedInput: 0.2, output: 10 },
  { model: 'claude-sonnet-4.5', input: 3, cachedInput: 0.3, output: 15 },
  { model: 'claude-haiku-4.5', input: 1, cachedInput: 0.1, output: 5 },
  { model: 'gpt-6.1-sol', input: 2, cachedInput: 0.1, output: 10 },
  { model: 'gpt-6-sol', input: 2, cachedInput: 0.2, output: 10 },
  { model: 'gpt-6-luna', input: 0.1, cachedInput: 0.01, output: 0.5 },
  { model: 'gpt-5.6-luna', input: 0.2, cachedInput: 0.02, output: 1.2 },
  { model: 'gpt-5.4', input: 2.5, cachedInput: 0.25, output: 15 },
  { model: 'gpt-5.4-mini', input: 0.75, cachedInput: 0.075, output: 4.5 },
  { model: 'gpt-5.3-codex', input: 1.75, cachedInput: 0.175, output: 14 },
  { model: 'gpt-5.2-codex', input: 1.75, cachedInput: 0.175, output: 14 },
  { model: 'gpt-5.2', input: 1.75, cachedInput: 0.175, output: 14 },
  { model: 'gpt-5-codex', input: 1.25, cachedInput: 0.125, output: 10 },
  { model: 'gpt-5', input: 1.25, cachedInput: 0.125, output: 10 },
  { model: 'gpt-5-mini', input: 0.25, cachedInput: 0.025, output: 2 },
  { model: 'gpt-4.1', input: 2, cachedInput: 0.5, output: 8 },
  { model: 'gemini-3.8-flash', input: 0.75, output: 3.75 },
  { model: 'gemini-3.6-flash', input: 0.75, cachedInput: 0.075, output: 3.75 },
  { model: 'gemini-2.5-pro', input: 1.25, output: 10 },
]
