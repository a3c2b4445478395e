import { parseArgs } from 'node:util'
import { assumptionNames, type Assumed, type AssumptionName } from './assumptions.ts'

export interface Options {
  /** Measures again, and writes the file that the simulation reads. */
  measure: boolean
  seed: number
  organizations: readonly number[]
  /** Changed assumptions. */
  set: Partial<Assumed>
  json?: string
  /** Prints the assumptions with their reasons. */
  assumptions: boolean
}

export const usage =
  'Usage: npm run scale -- [--measure] [--assumptions] [--organizations 10,10000,1000000] [--set NAME=VALUE]... [--seed 1] [--json FILE]'
const maxOrganizations = 2_000_000

/** @throws TypeError for an unknown flag, name or number */
export function readOptions(argv: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      measure: { type: 'boolean', default: false },
      assumptions: { type: 'boolean', default: false },
      seed: { type: 'string', default: '1' },
      organizations: { type: 'string', default: '10,10000,1000000' },
      set: { type: 'string', multiple: true, default: [] },
      json: { type: 'string' },
    },
  })
  const organizations = values.organizations.split(',').map(Number)
  if (!organizations.every(count => Number.isSafeInteger(count) && count >= 1 && count <= maxOrganizations))
    throw new TypeError(`--organizations takes whole numbers from 1 to ${maxOrganizations}, with commas between them.`)
  const seed = Number(values.seed)
  if (!Number.isSafeInteger(seed) || seed < 0) throw new TypeError('--seed takes a whole number from 0.')
  return { ...values, seed, organizations, set: Object.fromEntries(values.set.map(settingOf)) }
}

function settingOf(text: string): [AssumptionName, number] {
  const [name, value] = text.split('=') as [AssumptionName, string | undefined]
  if (!assumptionNames.includes(name)) throw new TypeError(`--set knows no ${name}: ${assumptionNames.join(', ')}`)
  const number = Number(value)
  if (value === undefined || value === '' || !(number >= 0))
    throw new TypeError(`--set ${name}= takes a number from 0.`)
  return [name, number]
}
