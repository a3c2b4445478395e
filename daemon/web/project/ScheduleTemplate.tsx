import { choiceOptions } from '../card/choiceOptions.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Check, Choice, TextArea, TextInput, type Fields } from '../ui/Inputs.tsx'
import { PeopleField } from './PeopleField.tsx'
import type { Schedule } from './records.ts'

/** Returns the form fields for the card template of a schedule. */
export const initialTemplate = (template: Schedule['template'] | undefined) => ({
  title: template?.title ?? '',
  prompt: template?.prompt ?? '',
  columnId: template?.columnId ?? '',
  labels: (template?.labels ?? []).join(', '),
  priority: template?.priority ?? 'normal',
  agent: template?.agent ?? '',
  assigneeIds: (template?.assigneeIds ?? []) as readonly string[],
  useWorktree: template?.useWorktree ?? true,
  autoMode: template?.autoMode ?? false,
})
type TemplateValues = ReturnType<typeof initialTemplate>

/** Returns the form fields as a template for requests. */
export const templateOf = ({
  title,
  prompt,
  labels,
  columnId,
  priority,
  agent,
  assigneeIds,
  useWorktree,
  autoMode,
}: TemplateValues) => ({
  title,
  prompt,
  labels: labels
    .split(',')
    .map(word => word.trim())
    .filter(Boolean),
  columnId: columnId || null,
  priority,
  agent: agent || null,
  assigneeIds: assigneeIds.map(Number),
  useWorktree,
  autoMode,
})

type Bind = Fields<TemplateValues>['bind']
const choicesOf = (of: readonly { id: string; name: string }[] = []) => of.map(({ id, name }) => [id, name] as const)

/** The fields of a schedule's cards. */
export function TemplateFields({ projectId, bind }: { projectId: string; bind: Bind }) {
  const columns = useLoad(() => client.columns.list({ projectId }), [projectId])
  const agents = useLoad(() => client.agents.providers(), [])
  const installed = (agents.value ?? []).filter(each => each.installed || each.id === bind('agent').value)
  return (
    <>
      <TextInput
        label="Card title"
        required
        hint="{date} is replaced with the date of the run."
        {...bind('title')}
        field="template.title"
      />
      <TextArea label="Prompt" rows={5} {...bind('prompt')} field="template.prompt" />
      <Choice
        label="Column"
        options={[['', 'The first column'], ...choicesOf(columns.value)]}
        {...bind('columnId')}
        field="template.columnId"
      />
      <Choice
        isSearched
        label="Agent"
        options={[['', 'Default of the column or project'], ...choicesOf(installed)]}
        {...bind('agent')}
        field="template.agent"
      />
      <PeopleField label="Assignees" projectId={projectId} {...bind('assigneeIds')} />
      <TextInput label="Labels" hint="Comma-separated." {...bind('labels')} field="template.labels" />
      <Choice label="Priority" options={choiceOptions('priority')} {...bind('priority')} field="template.priority" />
      <Check
        label="Separate worktree"
        hint="Without a worktree, the agent works in the project’s folder."
        {...bind('useWorktree')}
        field="template.useWorktree"
      />
      <Check
        label="Auto mode"
        hint="The cards move through their pipeline automatically."
        {...bind('autoMode')}
        field="template.autoMode"
      />
    </>
  )
}
