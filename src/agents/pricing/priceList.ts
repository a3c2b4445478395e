import { readFile } from 'node:fs/promises'
import * as v from 'valibot'
import { invalid } from '../../contract/errors.ts'
import type { TurnUsage } from '../link/agentLink.ts'
import { Price } from './price.ts'
import { shippedPrices } from './shippedPrices.ts'

const PriceFile = v.strictObject({ models: v.pipe(v.array(Price), v.maxLength(10_000)) })

export interface PriceList {
  /** The cost of tokens in US dollars. Null if the model is unknown or has no price. */
  costOf(model: string | null, usage: TurnUsage): number | null
}

/**
 * The prices that ship with the board, overridden by the operator's price file.
 * @throws Problem VALIDATION_FAILED naming the invalid field of the file
 */
export async function readPriceList(file: string | undefined): Promise<PriceList> {
  const own = file === undefined ? [] : await readPriceFile(file)
  const prices = new Map([...shippedPrices, ...own].map(price => [plainName(price.model), price]))
  return {
    costOf: (model, usage) => {
      const price = model === null ? undefined : namesOf(model).flatMap(name => prices.get(name) ?? [])[0]
      return price ? costAt(price, usage) : null
    },
  }
}

async function readPriceFile(file: string): Promise<Price[]> {
  let given: unknown
  try {
    given = JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    throw invalid('prices', `must be a JSON file: ${file}: ${(error as Error).message}`)
  }
  const parsed = v.safeParse(PriceFile, given)
  if (parsed.success) return parsed.output.models
  const [issue] = parsed.issues
  throw invalid(`prices.${v.getDotPath(issue) ?? ''}`, `${issue.message} (${file})`)
}

const costAt = (
  { input, cachedInput = input, output }: Price,
  { inputTokens, cachedTokens = 0, outputTokens }: TurnUsage,
): number => {
  const cached = Math.min(cachedTokens, inputTokens)
  return ((inputTokens - cached) * input + cached * cachedInput + outputTokens * output) / 1_000_000
}

/** The spellings of a model name that agents report: `anthropic/claude-opus-4-5-20251101[1m]`, `gpt-5.2-codex/high`. */
const namesOf = (model: string): string[] => [model, ...model.split('/')].map(plainName)

/** Removes the parts that do not distinguish models: letter case, dots, a date, a context size. */
const plainName = (model: string): string =>
  model
    .toLowerCase()
    .trim()
    .replace(/\[[^\]]*\]$/, '')
    .replace(/[-@](?:\d{8}|\d{4}-\d\d-\d\d)$/, '')
    .replaceAll('.', '-')
