import { parseArgs } from 'node:util'

export interface Options {
  /** Only the parts whose name begins so: get, list, create, move, writers, commands, start. Empty: all. */
  only: readonly string[]
  json?: string
  compare?: string
  /** Where the servers leave their CPU profiles. They cost time: figures taken with them are not to be compared. */
  profile?: string
  quick: boolean
  rounds: number
  /** How long each server is under load in a round, by 32 clients and by one. */
  loadMs: number
  singleMs: number
  warmUpMs: number
  writersMs: number
  processRuns: number
  startRuns: number
}

export const usage = `Usage: npm run bench -- [--quick] [--only get,list,move,create,writers,commands,start] [--json FILE] [--compare FILE] [--profile FOLDER]`

const thorough = { rounds: 5, loadMs: 900, singleMs: 250, warmUpMs: 800, writersMs: 4000, processRuns: 21, startRuns: 7 }
const quick = { rounds: 3, loadMs: 350, singleMs: 120, warmUpMs: 400, writersMs: 1500, processRuns: 9, startRuns: 3 }

/** @throws TypeError for an unknown flag */
export function readOptions(argv: readonly string[]): Options {
  const { values } = parseArgs({ args: [...argv], options: { quick: { type: 'boolean', default: false }, only: { type: 'string' }, json: { type: 'string' }, compare: { type: 'string' }, profile: { type: 'string' } } })
  return { ...values, only: values.only?.split(',').filter(Boolean) ?? [], ...(values.quick ? quick : thorough) }
}

export const isWanted = ({ only }: Options, name: string): boolean => only.length === 0 || only.some(part => name.startsWith(part))
