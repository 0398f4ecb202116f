"""Jobs in a notebook that a real kernel executes, without a browser."""

import json
import subprocess
import sys

import nbformat
from nbclient import NotebookClient

from case import ONE, PackageCase

SUBMIT = f"import tony\njob = tony.submit(executes=COMMAND, framework='standalone', tasks={ONE}, name='<b>bold</b>')"


class NotebookTest(PackageCase):
    def play(self, *cells):
        """Returns the outputs of the cells after all have run."""
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        client = NotebookClient(notebook, timeout=60, kernel_name="python3", extra_arguments=["--log-level=ERROR"])
        client.execute(cwd=str(self.folder))
        return [cell.outputs for cell in notebook.cells]

    def submit_cell(self, command):
        return f"COMMAND = {command!r}\n{SUBMIT}"

    def html(self, outputs):
        (shown,) = [output for output in outputs if output.output_type in ("display_data", "execute_result")]
        return shown.data["text/html"]

    def test_the_table_of_a_job_is_updated_until_the_job_has_ended(self):
        outputs = self.play(self.submit_cell("sleep 1.2; exit 3"), "job.show()", "print(job.status().state)")
        table = self.html(outputs[1])
        self.assertIn("FAILED", table)  # the first drawing cannot contain that
        self.assertIn("worker:0", table)
        self.assertIn("user_error, exit 3", table)
        self.assertIn("&lt;b&gt;bold&lt;/b&gt;", table)
        self.assertNotIn("<b>bold</b>", table)
        self.assertEqual(outputs[2][0].text, "FAILED\n")

    def test_the_table_of_a_job_is_updated_while_later_cells_run(self):
        release = self.folder / "go"
        outputs = self.play(self.submit_cell(self.hold()), "job.show(block=False)",
                            "import time\nwhile job.status().state != 'RUNNING': time.sleep(0.02)\n"
                            f"open({str(release)!r}, 'w')\n"
                            "job.wait()\nimport threading\nfor thread in threading.enumerate():\n"
                            "    if thread.name == 'tony-table': thread.join(30)\nprint('joined')")  # fmt: skip
        release.unlink()
        self.assertIn("SUCCEEDED", self.html(outputs[1]))
        self.assertEqual([output.get("text") for output in outputs[2]], ["joined\n"])

    def test_a_job_is_shown_as_a_table_and_a_missing_job_as_a_line(self):
        outputs = self.play(self.submit_cell("true"), "job.wait()\njob", "tony.Job('nowhere')")
        self.assertIn("SUCCEEDED", self.html(outputs[1]))
        self.assertIn("nowhere", self.html(outputs[2]))
        self.assertIn("not in", self.html(outputs[2]))

    def test_an_interrupt_is_reported_in_the_notebook_and_the_job_continues(self):
        # Interrupts the kernel as the notebook's stop button does.
        interrupt = "import os, signal, threading\nthreading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        caught = "try:\n    job.{}\nexcept KeyboardInterrupt:\n    print(job.status().has_ended)"
        for call in ("wait()", "show()"):
            with self.subTest(call):
                outputs = self.play(self.submit_cell(self.hold("never")), interrupt + caught.format(call), "job.kill()")
                texts = "".join(output.get("text", "") for output in outputs[1])
                self.assertIn("continues", texts)
                self.assertIn("False\n", texts)

    def test_outside_a_notebook_no_notebook_module_is_imported(self):
        job = self.submit("echo hi")
        code = (f"import json, sys, tony\ntony.job('{job.id}').show()\ntony.job('{job.id}')._repr_html_()\n"
                "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))")  # fmt: skip
        done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, timeout=60, check=True)
        others = set(json.loads(done.stdout)) - set(sys.stdlib_module_names) - {"tony", "__main__"}
        self.assertEqual(others, set())
        self.assertIn("SUCCEEDED", done.stderr)
