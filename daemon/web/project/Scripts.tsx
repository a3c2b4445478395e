import { useEffect, useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { EventData } from '../../../src/contract/server/events.ts'
import type { Output } from '../../../src/contract/route.ts'
import { followProject } from '../app/live.ts'
import { client } from '../app/session.ts'
import { useLoad } from '../app/load.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { TextArea, TextInput, useFields } from '../ui/Inputs.tsx'
import { Rows, useEditing, type EditProps } from '../ui/Rows.tsx'
import type { SectionProps } from './sectionProps.ts'
import { ScriptRun, type Run } from './ScriptRun.tsx'

type Script = Output<Contract['scripts']['list']>[number]

/** The project's shell commands, and their latest runs. */
export function ScriptsSection(props: SectionProps) {
  const { project, mayWork } = props
  const list = useLoad(() => client.scripts.list({ projectId: project.id }), [project.id])
  const [runs, setRun] = useRuns(project.id)
  const editing = useEditing<Script>(list)
  const reorder = async (ids: string[]) => list.set(await client.scripts.reorder({ projectId: project.id, ids }))
  return (
    <>
      <p>
        Shell commands that run in <code>{project.path}</code> with the permissions of the server.
      </p>
      {mayWork && (
        <div className="tools">
          <Button isMain icon="add" onClick={editing.add}>
            New script
          </Button>
        </div>
      )}
      <Rows of={list} label="Scripts" empty="No scripts." isStacked>
        {(script, at, scripts) => (
          <ScriptRow
            {...props}
            script={script}
            run={runs.get(script.id)}
            onRun={setRun}
            onEdit={() => editing.edit(script)}
            onUp={at === 0 ? undefined : () => reorder(moveUp(scripts, at))}
            reload={list.reload}
          />
        )}
      </Rows>
      {editing.isOpen && <Edit {...props} {...editing.dialog} script={editing.edited} />}
    </>
  )
}

const moveUp = (scripts: readonly Script[], at: number): string[] => {
  const ids = scripts.map(({ id }) => id)
  return ids.toSpliced(at - 1, 2, ids[at]!, ids[at - 1]!)
}

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

interface RowProps extends SectionProps {
  script: Script
  run: Run | undefined
  onRun: (run: Run) => void
  onEdit: () => void
  onUp: (() => Promise<void>) | undefined
  reload: () => Promise<void>
}

function ScriptRow({ project, mayWork, script, run, onRun, onEdit, onUp, reload }: RowProps) {
  const place = { projectId: project.id, scriptId: script.id }
  const isRunning = run?.status === 'running'
  const remove = () =>
    confirm({
      title: `Delete ${script.name}`,
      text: isRunning
        ? 'The current run is stopped with all of its processes.'
        : 'This permanently deletes the command.',
      submit: 'Delete',
      run: async () => {
        await client.scripts.delete(place)
        await reload()
      },
    })
  return (
    <>
      <div className="head">
        <div className="what">
          <strong>{script.name}</strong>
          <pre className="printed" tabIndex={0} aria-label={`Command of ${script.name}`}>
            {script.command}
          </pre>
        </div>
        {mayWork && (
          <div className="tools">
            {isRunning ? (
              <Button
                icon="stop"
                onClick={async () => onRun(await client.scripts.cancel(place))}
                aria-label={`Stop ${script.name}`}
              >
                Stop
              </Button>
            ) : (
              <Button
                icon="run"
                onClick={async () => onRun(await client.scripts.run(place))}
                aria-label={`Run ${script.name}`}
              >
                Run
              </Button>
            )}
            {onUp && <Button isPlain icon="up" label={`Move ${script.name} up`} onClick={onUp} />}
            <Button isPlain icon="edit" label={`Edit ${script.name}`} onClick={onEdit} />
            <Button isPlain icon="trash" label={`Delete ${script.name}`} onClick={remove} />
          </div>
        )}
      </div>
      {run && run.status !== 'idle' && <ScriptRun projectId={project.id} name={script.name} run={run} onRun={onRun} />}
    </>
  )
}

function Edit({ project, script, onClose, onSaved }: SectionProps & EditProps & { script?: Script }) {
  const { values, bind } = useFields({ name: script?.name ?? '', command: script?.command ?? '' })
  const save = async () => {
    if (script) await client.scripts.update({ projectId: project.id, scriptId: script.id, ...values })
    else await client.scripts.create({ projectId: project.id, ...values })
    await onSaved()
  }
  return (
    <FormDialog
      title={script ? `Edit ${script.name}` : 'New script'}
      kind="wide"
      onClose={onClose}
      submit={script ? 'Save' : 'Add the script'}
      onSubmit={save}
    >
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
    </FormDialog>
  )
}
