import type { Command } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import type { Connection } from '../../src/client/index.ts'
import { checkUp, type Finding } from '../server/checkup.ts'
import { discover } from '../context/discovery.ts'
import { Failure } from '../failures/failure.ts'
import { globalsOf } from '../parsing/globals.ts'
import { example } from '../help/help.ts'
import { createOutput } from '../output/createOutput.ts'
import type { Column } from '../output/output.ts'
import { programsOf } from '../programs.ts'

type Shown = Omit<Finding, 'fix'>
const columns: Column<Shown>[] = [
  { name: 'result', style: 'status', value: each => each.result },
  { name: 'check', style: 'title', value: each => each.check },
  { name: 'detail', value: each => each.detail },
  { name: 'advice', header: 'WHAT TO DO', value: each => each.advice },
]

export function register(command: Command): void {
  example(
    command
      .description(
        'Look for what is wrong on this machine and with its server: versions, permissions, disk, database, port, clock, sign-in and agents. Exit 1 when something failed.',
      )
      .option('--fix', 'mend what can be mended by itself'),
    'board doctor',
    'board doctor --fix',
    'board doctor --json --jq \'.[] | select(.result != "ok")\'',
  ).action(async ({ fix }: { fix?: boolean }) => {
    const globals = globalsOf(command)
    const { out, settings } = createOutput(globals)
    const { findDamage } = await programsOf(command).server()
    const { url, token, local, certificate } = discover(globals, process.env, settings)
    const connection: Connection | undefined = url && {
      url: url.value,
      token: token?.value,
      certificate,
      timeoutMs: (globals.timeout ?? 10) * 1000,
    }
    const findings = await checkUp({
      version: manifest.version,
      connection,
      isLocal: local !== undefined,
      findDamage: path => findDamage(path, true),
    })
    const shown = findings.map(finding => (fix && finding.fix ? mended(finding) : { ...finding, fix: undefined }))
    await out.list(
      shown.map(({ fix: _, ...rest }) => rest),
      columns,
    )
    if (!fix && findings.some(finding => finding.fix)) out.done('Some of it is mended by: board doctor --fix')
    const failures = shown.filter(({ result }) => result === 'failed')
    if (failures.length > 0)
      throw new Failure(
        'failure',
        `${failures.length} of ${shown.length} checks failed: ${failures.map(({ check }) => check).join(', ')}`,
      )
  })
}

const mended = ({ check, fix }: Finding): Finding => ({ check, result: 'ok', detail: fix!() })
