import { useEffect, useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { EventData } from '../../../src/contract/server/events.ts'
import type { Output } from '../../../src/contract/route.ts'
import { followProject } from '../app/live.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { TextArea, TextInput } from '../ui/Inputs.tsx'
import { ResourceSection, type ResourceForm } from '../ui/ResourceSection.tsx'
import type { SectionProps } from './sectionProps.ts'
import { ScriptRun, type Run } from './ScriptRun.tsx'

type Script = Output<Contract['scripts']['list']>[number]

/** The project's shell commands, and their latest runs. */
export function ScriptsSection({ project: { id: projectId, path }, mayWork }: SectionProps) {
  const list = useLoad(() => client.scripts.list({ projectId }), [projectId])
  const [runs, setRun] = useRuns(projectId)
  const rowOf = ({ id: scriptId, name, command }: Script) => {
    const place = { projectId, scriptId }
    const run = runs.get(scriptId)
    const isRunning = run?.status === 'running'
    return {
      name,
      control: mayWork && (
        <Button
          icon={isRunning ? 'stop' : 'run'}
          aria-label={`${isRunning ? 'Stop' : 'Run'} ${name}`}
          onClick={async () => setRun(await (isRunning ? client.scripts.cancel(place) : client.scripts.run(place)))}
        >
          {isRunning ? 'Stop' : 'Run'}
        </Button>
      ),
      details: (
        <>
          <pre className="printed" tabIndex={0} aria-label={`Command of ${name}`}>
            {command}
          </pre>
          {run && run.status !== 'idle' && <ScriptRun projectId={projectId} name={name} run={run} onRun={setRun} />}
        </>
      ),
      remove: mayWork && {
        text: isRunning
          ? 'The current run is stopped with all of its processes.'
          : 'This permanently deletes the command.',
        run: () => client.scripts.delete(place),
      },
    }
  }
  return (
    <ResourceSection
      of={list}
      label="Scripts"
      about={
        <>
          Shell commands that run in <code>{path}</code> with the permissions of the server.
        </>
      }
      empty="No scripts. Add a command that people run often, for example a deployment."
      mayEdit={mayWork}
      reorder={ids => client.scripts.reorder({ projectId, ids })}
      row={rowOf}
      form={formOf(projectId)}
    />
  )
}

const formOf = (projectId: string): ResourceForm<Script, { name: string; command: string }> => ({
  noun: 'script',
  isWide: true,
  initial: script => ({ name: script?.name ?? '', command: script?.command ?? '' }),
  save: (values, script) =>
    script
      ? client.scripts.update({ projectId, scriptId: script.id, ...values })
      : client.scripts.create({ projectId, ...values }),
  fields: ({ bind }, script) => (
    <>
      <TextInput label="Name" required maxLength={200} {...bind('name')} />
      <TextArea
        label="Shell command"
        required
        rows={6}
        className="mono"
        spellCheck={false}
        hint={script ? 'A script that is running keeps its previous command.' : undefined}
        {...bind('command')}
      />
    </>
  ),
})

/** The latest run of each script, updated by events. */
function useRuns(projectId: string): [ReadonlyMap<string, Run>, (run: Run) => void] {
  const [runs, setRuns] = useState<ReadonlyMap<string, Run>>(new Map())
  const setRun = (run: Run) => setRuns(before => new Map(before).set(run.scriptId, run))
  useEffect(() => {
    const read = async () => {
      const all = await client.scripts.status({ projectId })
      setRuns(new Map(all.map(run => [run.scriptId, run])))
    }
    const start = () => void read().catch(() => undefined)
    return followProject(
      projectId,
      events => {
        if (events.some(({ type }) => type === 'resync')) return start()
        for (const { type, data } of events)
          if (type === 'script.started' || type === 'script.finished') setRun(data as EventData<'script.started'>)
      },
      start,
    )
  }, [projectId])
  return [runs, setRun]
}
