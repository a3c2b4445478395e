import type { Command } from 'commander'
import type { GenericSchema } from 'valibot'
import { contract } from '../../src/contract/index.ts'
import { printedBy, type RouteName } from './help.ts'

/** Returns the names of the `--json` fields of a command. Empty if the command prints no record. */
export function fieldNames(command: Command): string[] {
  const { route = null, more = [] } = printedBy(command) ?? {}
  return [...(route === null ? [] : entriesOf(outputOf(route))), ...more]
}

/** The parts of a Valibot schema that lead to the fields of a row. */
interface Part extends GenericSchema {
  entries?: Record<string, Part>
  item?: Part
  wrapped?: Part
}

function outputOf(name: RouteName): Part | undefined {
  const [resource = '', route = ''] = name.split('.')
  return (contract as unknown as Record<string, Record<string, { output?: Part }>>)[resource]?.[route]?.output
}

/** The fields of a record, of the rows of a list, or of the items of a page. */
function entriesOf(schema: Part | undefined): string[] {
  const row = schema?.item ?? schema?.wrapped ?? schema?.entries?.items?.item
  return row ? entriesOf(row) : Object.keys(schema?.entries ?? {})
}
