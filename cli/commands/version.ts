import type { Command } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { Failure } from '../failures/failure.ts'
import { globalsOf } from '../parsing/globals.ts'
import { example } from '../help/help.ts'
import { createOutput } from '../output/createOutput.ts'
import type { Column } from '../output/output.ts'

interface Versions {
  version: string
  node: string
  platform: string
  server?: string
}

const own: Versions = {
  version: manifest.version,
  node: process.versions.node,
  platform: `${process.platform}-${process.arch}`,
}
const fields: Column<Versions>[] = [
  { name: 'version', value: each => each.version },
  { name: 'node', value: each => each.node },
  { name: 'platform', value: each => each.platform },
]
const serverField: Column<Versions> = { name: 'server', value: each => each.server }

export function register(command: Command): void {
  example(
    command.option('--check', 'compare with the server, and exit with 1 if the versions differ'),
    'board version',
    'board version --json',
    'board version --check --url https://board.example.com',
  ).action(async ({ check }: { check?: boolean }) =>
    check ? compareVersions(command) : createOutput(globalsOf(command)).out.record(own, fields),
  )
}

async function compareVersions(command: Command): Promise<void> {
  const { openContext } = await import('../context/context.ts')
  const { client, out } = await openContext(command)
  const { version: server } = await client.server.health()
  await out.record({ ...own, server }, [...fields, serverField])
  if (server !== own.version)
    throw new Failure('failure', `the server has a different version: ${server}`, {
      hint: 'update the older one; after an update: board server restart',
    })
}
