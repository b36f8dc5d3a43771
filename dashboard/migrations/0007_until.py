from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0006_forks"),
    ]

    operations = [
        migrations.AddField(
            model_name="replay",
            name="until",
            field=models.CharField(
                choices=[("running", "Running"), ("snapshot", "Snapshot"), ("end", "End")],
                default="snapshot",
                max_length=8,
            ),
        ),
    ]
