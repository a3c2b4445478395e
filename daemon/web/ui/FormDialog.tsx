import type { ComponentProps } from 'react'
import { Dialog } from './Dialog.tsx'
import { Form } from './Form.tsx'

type FormDialogProps = Pick<ComponentProps<typeof Dialog>, 'title' | 'kind'> &
  Omit<ComponentProps<typeof Form>, 'onCancel'> & { onClose: () => void }

/** A form above the page. */
export const FormDialog = ({ title, kind, onClose, ...form }: FormDialogProps) => (
  <Dialog title={title} kind={kind} onClose={onClose}>
    <Form {...form} onCancel={onClose} />
  </Dialog>
)
