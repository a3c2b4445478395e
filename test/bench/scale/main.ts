import { writeFileSync } from 'node:fs'
import { assumed } from './assumptions.ts'
import { measure, type Programs } from './measure.ts'
import { readMeasured } from './measured.ts'
import { readOptions, usage, type Options } from './options.ts'
import { assumptionsText, reportText } from './report.ts'
import { simulate } from './simulate.ts'

/** The folders of the programs, the file of measurements, and the command's arguments. */
export interface Scale extends Programs {
  measuredFile: string
  argv: readonly string[]
}

/** Prints the requirements of boards for many organizations, derived from the cost of one here. */
export async function runScale(scale: Scale): Promise<void> {
  const options = optionsOf(scale.argv)
  if (!options) return
  if (options.measure) {
    const found = await measure(scale, text => process.stderr.write(`${text}\n`))
    writeFileSync(scale.measuredFile, `${JSON.stringify(found, rounded, 2)}\n`)
  }
  if (options.assumptions) console.log(assumptionsText(assumed(options.set)))
  const measured = readMeasured(scale.measuredFile)
  const simulated = options.organizations.map(count => simulate(measured, assumed(options.set), count, options.seed))
  if (options.json) writeFileSync(options.json, `${JSON.stringify({ measured, simulated }, null, 2)}\n`)
  console.log(reportText(measured, simulated))
}

/** Rounds to three digits, because further ones are not reproducible. */
const rounded = (_: string, value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(3)) : value)

function optionsOf(argv: readonly string[]): Options | undefined {
  try {
    return readOptions(argv)
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}\n`)
    process.exitCode = 2
    return undefined
  }
}
