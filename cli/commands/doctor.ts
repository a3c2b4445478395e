import { Option, type Command } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import type { Connection } from '../../src/client/index.ts'
import { requireTrial, tryAgents, type TrialOptions } from '../agents/agentTrials.ts'
import { openContext, requireUser } from '../context/context.ts'
import { offerWords } from '../parsing/arguments.ts'
import { checkUp, type Finding } from '../server/checkup.ts'
import { selectServer } from '../context/selectServer.ts'
import { Failure } from '../failures/failure.ts'
import { globalsOf } from '../parsing/globals.ts'
import { example } from '../help/help.ts'
import { readSettings, type Settings } from '../context/profiles.ts'
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

interface Options extends TrialOptions {
  fix?: boolean
}

export function register(command: Command): void {
  example(
    offerWords(['agents'], command.argument('[what]').argument('[agent...]'))
      .description(
        'Check this machine and its server: versions, permissions, disk, database, port, clock, sign-in and agents. Exit with 1 if a check failed. With "agents", show for each agent the folder, the version and whether the board was tested with it, the sign-in, the modes and models, and the result of its last check.',
      )
      .addOption(new Option('--fix', 'fix problems that can be fixed automatically').conflicts(['start', 'greet']))
      .option('--start', 'with agents: start and stop each installed agent, without a model request and free of charge')
      .option('--greet', 'with agents: ask each one for a sentence, which uses tokens, and report the cost')
      .option('-y, --yes', 'with --greet: skip the confirmation prompt'),
    'board doctor',
    'board doctor --fix',
    'board doctor agents',
    'board doctor agents claude codex --start',
    'board doctor agents claude --greet --yes',
    'board doctor --json --jq \'.[] | select(.result != "ok")\'',
  ).action(async (what: string | undefined, agents: string[], { fix, ...trial }: Options) => {
    requireTrial(what, trial)
    if (what !== undefined) {
      const context = await openContext(command)
      requireUser(context, 'doctor agents')
      return tryAgents(context, agents, trial)
    }
    await checkMachine(command, fix)
  })
}

async function checkMachine(command: Command, fix: boolean | undefined): Promise<void> {
  const globals = globalsOf(command)
  const { settings, fault } = confFile()
  const { out } = createOutput(globals, settings)
  const { findDamage, findAddingRepository } = await programsOf(command).server()
  const { url, token, local, certificate } = selectServer(globals, settings)
  const connection: Connection | undefined = url && {
    url: url.value,
    token: token?.value,
    certificate,
    timeoutMs: (globals.timeout ?? 10) * 1000,
  }
  const checks = await checkUp({
    version: manifest.version,
    connection,
    isLocal: local !== undefined,
    findDamage: path => findDamage(path, true),
    findAddingRepository,
  })
  const findings = [...checks, ...fault]
  const shown = findings.map(finding => (fix && finding.fix ? applyFix(finding) : { ...finding, fix: undefined }))
  await out.list(
    shown.map(({ fix: _, ...rest }) => rest),
    columns,
  )
  if (!fix && findings.some(finding => finding.fix)) out.done('To fix some of these problems: board doctor --fix')
  if (findings.some(({ check }) => check === 'agents')) out.done('More about agents: board doctor agents')
  const failures = shown.filter(({ result }) => result === 'failed')
  if (failures.length > 0)
    throw new Failure(
      'failure',
      `${failures.length} of ${shown.length} checks failed: ${failures.map(({ check }) => check).join(', ')}`,
    )
}

/** Reads the configuration file's settings. If the file cannot be read, reports a fault, and the other checks continue. */
function confFile(): { settings: Settings; fault: Finding[] } {
  try {
    return { settings: readSettings(), fault: [] }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return {
      settings: {},
      fault: [{ check: 'configuration file', result: 'failed', detail: error.message, advice: error.hint ?? '' }],
    }
  }
}

const applyFix = ({ check, fix }: Finding): Finding => ({ check, result: 'ok', detail: fix!() })
