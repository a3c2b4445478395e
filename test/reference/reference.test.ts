import { expect, test } from 'vitest'
import { loadAll } from '../../cli/parsing/loadCommands.ts'
import { createProgram } from '../../cli/program.ts'
import { programs } from '../support/commands/programs.ts'
import { apiReference } from './apiReference.ts'
import { commandReference } from './commandReference.ts'
import { boardFileSchema, configurationReference } from './configurationReference.ts'

// To renew the pages: npx vitest run --project quick test/reference -u
test('the schema of board.json for editors is that of the contract', async () => {
  await expect(`${JSON.stringify(boardFileSchema(), null, 2)}\n`).toMatchFileSnapshot('../../docs/board.schema.json')
})

test('the reference pages are those of the commands, settings and routes', async () => {
  const program = await loadAll(createProgram(programs))
  await expect(commandReference(program)).toMatchFileSnapshot('../../docs/commands.md')
  await expect(configurationReference(program)).toMatchFileSnapshot('../../docs/configuration.md')
  await expect(apiReference()).toMatchFileSnapshot('../../docs/api.md')
})
