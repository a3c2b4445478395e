import { client } from '../app/session.ts'
import { Check } from '../ui/Inputs.tsx'
import { SettingsForm } from '../ui/SettingsForm.tsx'
import type { SectionProps } from './sectionProps.ts'

/** The steps that follow each merge of a card. */
export const AfterMerge = ({ project: { id, afterMerge }, onChange }: SectionProps) => (
  <SettingsForm
    title="After a merge"
    hint="You can override these steps for each merge. A worktree with work that exists nowhere else is kept."
    submit="Save steps"
    saved="Saved the steps after a merge."
    initial={afterMerge}
    save={async values => onChange(await client.projects.update({ id, afterMerge: values }))}
  >
    {({ bind }) => (
      <>
        <Check label="Move the card to the first done column of its board" {...bind('moveToDone')} />
        <Check label="Remove the worktree of the card" {...bind('removeWorktree')} />
      </>
    )}
  </SettingsForm>
)
