import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0005_hunt"),
    ]

    operations = [
        migrations.AddField(
            model_name="replay",
            name="parent",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="forks",
                to="dashboard.replay",
            ),
        ),
        migrations.AddField(
            model_name="replay",
            name="fork_step",
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="replay",
            name="change",
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="replay",
            name="verdict",
            field=models.CharField(
                blank=True,
                choices=[
                    ("identical", "Identical"),
                    ("diverged", "Diverged"),
                    ("free", "Free"),
                    ("unknown", "Unknown"),
                    ("forked", "Forked"),
                ],
                default="",
                max_length=16,
            ),
        ),
    ]
